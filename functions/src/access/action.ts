import type { Layer } from '@toolrack/contract'

/**
 * What a principal may want to do. `read` covers the list, explain and definitions as they are, `read-versions` what they
 * were, `read-modules` the sources that some come from, `refresh` a new look at the folder of modules, `call` the tools that
 * the list shows, `mint` a job token for one's own tools.
 */
export type Action =
  | { readonly verb: 'read' | 'call' | 'read-versions' | 'refresh' | 'mint' }
  | { readonly verb: 'write' | 'read-modules'; readonly layer: Layer }

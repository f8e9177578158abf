import type { LayerSource } from '../../catalog/views/layer-source.ts'
import type { Runner } from '../../catalog/definitions/runner.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { Log } from '../../log.ts'
import type { Signal } from '../../signal.ts'
import { logged } from '../definitions/layer-log.ts'
import { acceptCommand, grantsText } from '../../catalog/views/why-pending.ts'
import type { Documents } from '../../documents/documents.ts'
import { FileModules } from './file-modules.ts'
import { FolderLayers, type FileConsents } from './folder-layers.ts'
import type { FolderNews } from './folder-news.ts'
import { folderRoutes } from './folder-routes.ts'
import { ModuleFolder } from './module-folder.ts'

type Needs = {
  readonly documents: Documents
  readonly log: Log
  readonly compilers: SchemaCompilers
  readonly runner: Runner
  /** Opens the definition files, which are one part of the file layer. */
  readonly files: (compilers: SchemaCompilers) => LayerSource
  /** The paths of watched folders with modules. Their tools are in the file layer. Only the embedded server has such folders. */
  readonly toolsFolders?: readonly string[] | undefined
  /** Shows the operator what has happened to a file of a folder. By default, the log says it. */
  readonly showModule?: ((news: FolderNews) => void) | undefined
  readonly fileConsents: FileConsents | undefined
  readonly signals: { readonly filesChanged: Signal; readonly filesNews: Signal }
}

/** The file layer: definition files, and watched folders of modules. */
export const folder = {
  name: 'folder',
  create(parts: Needs) {
    const {
      documents,
      log,
      compilers,
      runner,
      files,
      toolsFolders = [],
      showModule,
      fileConsents,
      signals,
    } = parts
    const definitions = logged(files(compilers), log)
    const fileModules = new FileModules(documents)
    if (toolsFolders.length === 0) return { folder: undefined, fileLayer: definitions, fileModules }
    const show = (news: FolderNews): void => (showModule ? showModule(news) : logModule(log, news))
    const progress = (file: string, text: string): void => show({ kind: 'progress', file, text })
    const checks = { runner, compiler: compilers.own, log, kept: fileModules, progress }
    const modules = { ...checks, changed: signals.filesChanged.tell }
    const watched = toolsFolders.map((path) => new ModuleFolder({ path, ...modules }))
    const report = (news: FolderNews): void => {
      show(news)
      // The layer is read again now. So an answer for always about a changed module ends at once, and not with the next list.
      signals.filesNews.tell()
    }
    const layers = new FolderLayers(definitions, watched, report, fileConsents)
    // The operator is told of the change now, and not with the next list.
    signals.filesChanged.listen(() => layers.reportSoon())
    return { folder: layers, fileLayer: layers, fileModules }
  },
  routes: folderRoutes,
  close({ folder: layers }: { readonly folder: FolderLayers | undefined }): void {
    layers?.close()
  },
}

function logModule(log: Log, { kind, ...news }: FolderNews): void {
  if ('faults' in news && news.faults.length > 0) log.warn(`module ${kind}, with faults`, news)
  else if ('waits' in news && news.waits) {
    const { module, grants } = news.waits
    const facts = { file: news.file, grants: grantsText(grants), accept: acceptCommand(module, 'file') }
    log.warn('module waits for consent', facts)
  } else
    log.info(`module ${kind}`, {
      file: news.file,
      ...('tools' in news && { tools: news.tools }),
      ...('text' in news && { text: news.text }),
    })
}

/**
 * Node's HTTP modules, without an ES import: that reads every export of `node:http`, and one of them loads undici, which takes
 * 25 ms of a start and is not used.
 */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

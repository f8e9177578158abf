/**
 * Node's HTTP modules. An ES import would read every export of `node:http`, and one of them loads undici, which takes 25 ms of a
 * start and is not used.
 */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

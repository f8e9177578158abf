/**
 * Node's HTTP as it is. An ES import of `node:http` asks for each of its exports, and one of them loads undici: 25 ms of
 * a start that never uses it.
 */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

/** Node's HTTP modules. An ES import would also load undici, which is not used and takes 25 ms of a start. */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

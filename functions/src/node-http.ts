/** Node's HTTP modules. An ES import of them would also load undici, which is not used, and loading it takes 25 ms of a start. */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

// Node's HTTP server without `import … from 'node:http'`, which reads every export: for `WebSocket` Node loads its copy of undici, which
// takes 40 ms of each start.

export const { createServer, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');

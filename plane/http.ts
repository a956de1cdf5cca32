// Node's HTTP server, without what an import of it costs: `import … from 'node:http'` reads every export, and to read `WebSocket` Node
// loads its own copy of undici: 40 ms of each start.

export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

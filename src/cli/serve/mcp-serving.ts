/** All of `mcp` that needs the package of the protocol, which may not be installed. */
export { createMemoryServer } from '../../mcp/server.ts';
export { serveHttp } from './mcp-http.ts';
export { serveLines } from './mcp-stdio.ts';

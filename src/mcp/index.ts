export { createMemoryServer, type MemoryServerOptions } from './server.ts';

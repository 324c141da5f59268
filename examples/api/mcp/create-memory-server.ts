// Only compiled: it speaks to its host on standard input and output.
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { openMemory, optionsFromEnvironment } from 'sealed-memory';
import { createMemoryServer, type MemoryServerOptions } from 'sealed-memory/mcp';

const memory = await openMemory(optionsFromEnvironment());
const options: MemoryServerOptions = { tools: 'six', onFailure: (error) => console.error(error) };
serveStdio(() => createMemoryServer(memory, options));

import { type Environment, openMemory, optionsFromEnvironment } from 'sealed-memory';

const env: Environment = {
  SEALED_MEMORY_STORE: 'memory:',
  SEALED_MEMORY_TENANT: 'acme',
  SEALED_MEMORY_ROOT_KEY: 'VGhpcyBpcyBhbiBleGFtcGxlIGFuZCBubyBzZWNyZXQ=',
};
await using memory = await openMemory(optionsFromEnvironment(env, { limits: { files: 5_000 } }));
console.log(await memory.files.exists('/memories/launch.md'));

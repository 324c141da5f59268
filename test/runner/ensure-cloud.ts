/** Makes sure that moto and AWS's runtime client are there before suites that run side by side ask for them. */

import { findRuntimeClient } from '../../infra/local/lambda/runtime-client.ts';
import { startMoto } from '../../infra/local/servers/moto.ts';

const options = { mayInstall: true, say: (line: string): void => console.log(line) };
const client = await findRuntimeClient(process.env, options);
const moto = await startMoto(process.env, options);
if ('stop' in moto) await moto.stop();
for (const piece of [client, moto]) {
  if (!('reason' in piece)) continue;
  console.error(piece.reason);
  process.exitCode = 1;
}
if (!process.exitCode) console.log('moto and the runtime client are there');

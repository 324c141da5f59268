/**
 * Makes sure that both servers and the proxy can be started as programs, building them with Go where they are missing,
 * and prints on standard output the image that stands for MinIO and the path of its program.
 */
import { findProgram } from '../../infra/local/programs/find-program.ts';
import { goInstall } from '../../infra/local/programs/go-install.ts';
import { AGE, MINIO, MINIO_IMAGE, TOXIPROXY, VERSITYGW } from '../../infra/local/programs/pinned.ts';

const say = (line: string): void => console.error(line);
const paths: string[] = [];
for (const program of [MINIO, VERSITYGW, TOXIPROXY, AGE]) {
  const found = (await findProgram(process.env, program)) ?? (await goInstall(process.env, program, say));
  if ('reason' in found) {
    say(found.reason);
    process.exit(1);
  }
  say(`${program.command} ${found.version}: ${found.path} (${found.how})`);
  paths.push(found.path);
}
console.log(`${process.env['TEST_MINIO_IMAGE'] || MINIO_IMAGE}\n${paths[0]}`);

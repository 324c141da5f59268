import type { TestProject } from 'vitest/node';
import { locateServers } from '../../infra/local/servers/locate.ts';
import {
  type FaultPrograms,
  type S3Outcome,
  type S3Server,
  serverTitle,
} from '../../infra/local/servers/s3-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    faultPrograms: FaultPrograms;
    s3Servers: readonly S3Server[];
    s3Outcome: S3Outcome;
  }
}

/** Gets the servers before the first s3 suite is collected; the function returned stops them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const say = (line: string) => console.log(`S3: ${line}`);
  const { running, outcome, programs } = await locateServers(process.env, say);
  for (const { server } of running) say(`${serverTitle(server.name)} ${server.version} (${server.how})`);
  for (const note of outcome.notes) say(note);
  project.provide(
    's3Servers',
    running.map(({ server }) => server),
  );
  project.provide('s3Outcome', outcome);
  project.provide('faultPrograms', programs);
  return async () => {
    await Promise.all(running.map((server) => server.stop()));
  };
}

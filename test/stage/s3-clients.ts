import { firstOrAll } from '../runner/thorough.ts';
import { describeOnS3, type S3Server, type S3ServerName } from './s3.ts';

/** The clients that a store of S3 can send its requests through; each test of one is a test of the other. */
export const S3_CLIENTS = ['lean', 'sdk'] as const;

type S3ClientName = (typeof S3_CLIENTS)[number];

/**
 * Declares a suite once per client and named server. A usual run asks the first server alone through the AWS SDK, which
 * few of the requests of the library need.
 */
export function describeEachClient(
  title: string,
  names: readonly S3ServerName[],
  body: (on: {
    readonly server: () => S3Server;
    readonly name: S3ServerName;
    readonly client: S3ClientName;
  }) => void,
): void {
  for (const client of S3_CLIENTS) {
    const asked = client === 'sdk' ? firstOrAll(names) : names;
    describeOnS3(`${title} through the client ${client}`, asked, (server, name) =>
      body({ server, name, client }),
    );
  }
}

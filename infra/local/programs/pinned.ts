import { join } from 'node:path';
import { serverTitle } from '../servers/s3-server.ts';

/** The last MinIO release with images and a module version that builds everywhere. */
const MINIO_RELEASE = 'RELEASE.2025-09-07T16-13-09Z';

export const MINIO_IMAGE: string = `quay.io/minio/minio:${MINIO_RELEASE}`;

/** A program written in Go, at one version. */
export interface GoProgram {
  readonly title: string;
  readonly command: string;
  /** The name that `go install` gives it, where that is not its command. */
  readonly installedAs?: string;
  readonly module: string;
  readonly moduleVersion: string;
  readonly packagePath: string;
  /** The version as its makers write it. */
  readonly version: string;
  /** Oldest Go that builds it, as [major, minor]. */
  readonly minimumGo: readonly [number, number];
  readonly buildTime: string;
}

export const MINIO: GoProgram = {
  title: serverTitle('minio'),
  command: 'minio',
  module: 'github.com/minio/minio',
  moduleVersion: 'v0.0.0-20250907161309-07c3a429bfed',
  packagePath: 'github.com/minio/minio',
  version: MINIO_RELEASE,
  minimumGo: [1, 24],
  buildTime: '3 to 5 minutes on two cores',
};

export const VERSITYGW: GoProgram = {
  title: serverTitle('versitygw'),
  command: 'versitygw',
  module: 'github.com/versity/versitygw',
  moduleVersion: 'v1.8.0',
  packagePath: 'github.com/versity/versitygw/cmd/versitygw',
  version: '1.8.0',
  minimumGo: [1, 25],
  buildTime: 'about a minute on two cores',
};

/** A proxy that spoils connections. */
export const TOXIPROXY: GoProgram = {
  title: 'Toxiproxy',
  command: 'toxiproxy-server',
  installedAs: 'server',
  module: 'github.com/Shopify/toxiproxy/v2',
  moduleVersion: 'v2.5.0',
  packagePath: 'github.com/Shopify/toxiproxy/v2/cmd/server',
  version: '2.5.0',
  minimumGo: [1, 21],
  buildTime: 'some ten seconds',
};

/** The program that opens files of `export --age`. */
export const AGE: GoProgram = {
  title: 'age',
  command: 'age',
  module: 'filippo.io/age',
  moduleVersion: 'v1.2.1',
  packagePath: 'filippo.io/age/cmd/age',
  version: '1.2.1',
  minimumGo: [1, 19],
  buildTime: 'some ten seconds',
};

/** Names the place of a built program; the version is part of the name, so a new pin is built again. */
export function cachedProgram(cacheDirectory: string, program: GoProgram): string {
  return join(cacheDirectory, `${program.command}-${program.version}`);
}

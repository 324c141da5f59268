/** A real S3 server that the s3 suites may use, reachable now. */
export interface S3Server {
  readonly name: S3ServerName;
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly version: string;
  /** The way by which it was obtained, in words for the log. */
  readonly how: string;
  /** The program that serves it, where it runs on this machine outside a container. */
  readonly binary?: string;
}

export type S3ServerName = 'minio' | 'versitygw';

/** A server that this run is responsible for; `stop` also removes its data. */
export interface RunningServer {
  readonly server: S3Server;
  stop(): Promise<void>;
}

/** One way of getting a server: it worked, or a reason in one line. */
export type Attempt = { readonly running: RunningServer } | { readonly reason: string };

/** The facts about S3 for the closing lines of a run. */
export interface S3Outcome {
  /** The reason why the s3 suites did not run; absent when MinIO was available. */
  readonly notRun?: string;
  /** Lines to repeat at the end of the run. */
  readonly notes: readonly string[];
  /** True where the run must fail whatever the tests say. */
  readonly fails: boolean;
}

/** Paths of the programs for the suite of network faults, where they are available. */
export interface FaultPrograms {
  readonly toxiproxy?: string;
  readonly minio?: string;
}

export function serverTitle(name: S3ServerName): string {
  return name === 'minio' ? 'MinIO' : 'VersityGW';
}

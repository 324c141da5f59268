/** Whether and how a program that is not there is got, once, into the cache folder. */
export interface InstallOptions {
  /** Without: what is missing stays missing, and is told. */
  readonly mayInstall: boolean;
  readonly say: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** A test run installs nothing large by itself, unless no person waits for it. */
export function inTests(
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): InstallOptions {
  return { mayInstall: env['CI'] === 'true' || env['CI'] === '1', say };
}

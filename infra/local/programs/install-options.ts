/** The choice whether a missing program is installed, once, into the cache folder. */
export interface InstallOptions {
  /** True to install missing programs; false to report them. */
  readonly mayInstall: boolean;
  readonly say: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Makes the options of a test run: it installs large programs only where no person waits for it. */
export function inTests(
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): InstallOptions {
  return { mayInstall: isCi(env), say };
}

/** Tells whether a run is one of CI, in which nothing may be skipped. */
export function isCi(env: Readonly<Record<string, string | undefined>>): boolean {
  return env['CI'] === 'true' || env['CI'] === '1';
}

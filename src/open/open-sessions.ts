import type { SessionOptions, Sessions } from '../sessions/sessions.ts';
import type { Session } from '../tree/session.ts';

/** Stands around every call. */
type Run = <T>(call: () => Promise<T>, options: SessionOptions) => Promise<T>;

/** The transcripts of one tenant. Their module is loaded by the first call, within `run`, so that a close waits for it. */
export function openSessions(context: Session, run: Run): Sessions {
  let loading: Promise<Sessions> | undefined;
  const load = async (): Promise<Sessions> => {
    const { createSessions } = await import('../sessions/sessions.ts');
    return createSessions(context);
  };
  const call = <T>(act: (sessions: Sessions) => Promise<T>, options: SessionOptions = {}): Promise<T> =>
    run(async () => {
      loading ??= load();
      return act(await loading);
    }, options);

  return Object.freeze<Sessions>({
    append: (key, lines, options) => call((sessions) => sessions.append(key, lines, options), options),
    load: (key, options) => call((sessions) => sessions.load(key, options), options),
    list: (projectKey, options) => call((sessions) => sessions.list(projectKey, options), options),
    subpaths: (key, options) => call((sessions) => sessions.subpaths(key, options), options),
    remove: (key, options) => call((sessions) => sessions.remove(key, options), options),
  });
}

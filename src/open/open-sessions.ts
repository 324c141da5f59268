import type { Sessions } from '../sessions/sessions.ts';
import type { Session } from '../tree/session.ts';
import { callLazily, type Run } from './call-lazily.ts';

/** The transcripts of one tenant. */
export function openSessions(context: Session, run: Run): Sessions {
  const call = callLazily(run, async () => {
    const { createSessions } = await import('../sessions/sessions.ts');
    return createSessions(context);
  });
  return Object.freeze<Sessions>({
    append: (key, lines, options) => call((sessions) => sessions.append(key, lines, options), options),
    load: (key, options) => call((sessions) => sessions.load(key, options), options),
    list: (projectKey, options) => call((sessions) => sessions.list(projectKey, options), options),
    subpaths: (key, options) => call((sessions) => sessions.subpaths(key, options), options),
    remove: (key, options) => call((sessions) => sessions.remove(key, options), options),
  });
}

import type { LogFields, Logger } from './logger.ts';

/**
 * The listener of a caller, whose failure is not that of the call: `onFailure` hears that it threw or rejected. What the
 * call returns resolves when the listener is done, and never rejects; whoever calls need not wait for it.
 *
 * @param onFailure must not throw.
 */
export function heard<A extends readonly unknown[]>(
  listener: (...given: A) => unknown,
  onFailure: () => void = () => {},
): (...given: A) => Promise<void> {
  return async (...given) => {
    try {
      await listener(...given);
    } catch {
      onFailure();
    }
  };
}

/** Listeners whose failure a log has told of. */
const reported = new WeakSet<object>();

/** Has `report` called at the first failure of a listener, and at no other. */
export function reportOnce(listener: object, report: () => void): void {
  if (reported.has(listener)) return;
  reported.add(listener);
  report();
}

/** As `heard`; of its first failure the logger is told. */
export function heardOrLogged<A extends readonly unknown[]>(
  name: string,
  listener: (...given: A) => unknown,
  logger: Logger | undefined,
): (...given: A) => Promise<void> {
  return heard(listener, () => {
    reportOnce(listener, () => logger?.warn('a listener failed, which changes nothing', { listener: name }));
  });
}

/** The logger of a caller, whose failure changes nothing either. */
export function heardLogger(logger: Logger): Logger {
  const level = (name: keyof Logger): Logger['warn'] =>
    heard((message: string, fields?: LogFields) => logger[name](message, fields));
  return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
}

const LISTENERS = ['onTouch', 'onRedacted', 'onProgress'];

/** The options of a call, with its listeners as `heardOrLogged`; what holds none is returned as it is. */
export function heardOptions<T>(options: T, logger: Logger): T {
  const given = LISTENERS.map((name) => [name, Object(options)[name]] as const).filter(
    ([, listener]) => typeof listener === 'function',
  );
  if (given.length === 0) return options;
  const listeners = given.map(([name, listener]) => [name, heardOrLogged(name, listener, logger)] as const);
  return { ...options, ...Object.fromEntries(listeners) };
}

/** The functions of an object, each of which takes its options as `heardOptions`. */
export function heardVerbs<T extends object>(verbs: T, logger: Logger): T {
  const heardBy = Object.entries(verbs)
    .filter(([, verb]) => typeof verb === 'function')
    .map(([name, verb]) => [
      name,
      (...given: readonly unknown[]) => verb(...given.map((argument) => heardOptions(argument, logger))),
    ]);
  return Object.freeze({ ...verbs, ...Object.fromEntries(heardBy) });
}

import type { LogFields, Logger } from './logger.ts';

/**
 * Wraps a caller's listener, whose failure is not that of the call: `onFailure` hears that it threw or rejected. The
 * promise of the wrapped listener resolves when the listener is done, and never rejects; its caller need not wait for
 * it.
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

/** Listeners whose failure has been logged. */
const reported = new WeakSet<object>();

/** Calls `report` at the first failure of a listener alone. */
export function reportOnce(listener: object, report: () => void): void {
  if (reported.has(listener)) return;
  reported.add(listener);
  report();
}

/** Wraps a listener as `heard` does; the logger is told of its first failure. */
export function heardOrLogged<A extends readonly unknown[]>(
  name: string,
  listener: (...given: A) => unknown,
  logger: Logger | undefined,
): (...given: A) => Promise<void> {
  return heard(listener, () => {
    reportOnce(listener, () => logger?.warn('a listener failed, which changes nothing', { listener: name }));
  });
}

/** Wraps a caller's logger, whose failure changes nothing. */
export function heardLogger(logger: Logger): Logger {
  const level = (name: keyof Logger): Logger['warn'] =>
    heard((message: string, fields?: LogFields) => logger[name](message, fields));
  return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
}

const LISTENERS = ['onTouch', 'onRedacted', 'onProgress'];

/** Wraps the listeners in a call's options as `heardOrLogged` does; options without listeners stay as they are. */
export function heardOptions<T>(options: T, logger: Logger): T {
  const given = LISTENERS.map((name) => [name, Object(options)[name]] as const).filter(
    ([, listener]) => typeof listener === 'function',
  );
  if (given.length === 0) return options;
  const listeners = given.map(([name, listener]) => [name, heardOrLogged(name, listener, logger)] as const);
  return { ...options, ...Object.fromEntries(listeners) };
}

/** Wraps the functions of an object, each of which then takes its options as `heardOptions` does. */
export function heardVerbs<T extends object>(verbs: T, logger: Logger): T {
  const heardBy = Object.entries(verbs)
    .filter(([, verb]) => typeof verb === 'function')
    .map(([name, verb]) => [
      name,
      (...given: readonly unknown[]) => verb(...given.map((argument) => heardOptions(argument, logger))),
    ]);
  return Object.freeze({ ...verbs, ...Object.fromEntries(heardBy) });
}

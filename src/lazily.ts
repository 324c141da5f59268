import { once } from './time.ts';

/** A function that runs around a call, and gets the call's options. */
export type Around = <T>(
  call: () => Promise<T>,
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<T>;

type LateVerb = (...given: readonly unknown[]) => Promise<unknown>;
/** The place of the options among the arguments of a verb. */
type OptionsPlace = readonly [at: number, ...more: unknown[]];

/**
 * Makes an object of the named verbs, which the first call of one of them loads. Each call runs within `run`, the
 * loading with it: a caller that waits for the call waits for both. After a failure the next call loads again.
 */
export function lazily<T extends object>(
  run: Around,
  load: () => Promise<T>,
  names: Readonly<Record<keyof NoInfer<T>, OptionsPlace>>,
): T {
  const loaded = once(load);
  return within<T>((call, options) => run(async () => call(await loaded()), options), names);
}

/** A function that runs around a call, and gives it the object that is asked. */
type AroundOf<T> = <R>(
  call: (target: T) => Promise<R>,
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<R>;

/** Makes an object of the named verbs. Each call is that of the object which `run` gives to it. */
export function within<T extends object>(
  run: AroundOf<T>,
  names: Readonly<Record<keyof NoInfer<T>, OptionsPlace>>,
): T {
  const verbs = Object.entries<OptionsPlace>(names).map(([name, [at]]) => {
    const verb: LateVerb = (...given) =>
      run(async (target: object) => {
        const loadedVerb: LateVerb = Reflect.get(target, name);
        return Reflect.apply(loadedVerb, target, given);
      }, Object(given[at]));
    return [name, verb] as const;
  });
  return Object.freeze(Object.fromEntries(verbs)) as T;
}

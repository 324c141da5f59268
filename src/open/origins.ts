/** How the value under a name was typed, such as `--tenant`; undefined for one that goes by its own name. */
export type Origin = (name: string, value: unknown) => string | undefined;

/** It travels with the values, so that a message names what was typed, wherever it is made. */
const ORIGIN = Symbol('how the values were typed');

/** The same object, which knows how its values were typed; with `copied`, each copy that is spread of it knows it too. */
export function withOrigin<T extends object>(
  values: T,
  origin: Origin,
  { copied = false }: { readonly copied?: boolean } = {},
): T {
  return Object.defineProperty(values, ORIGIN, { value: origin, enumerable: copied });
}

/** The name of a value, dots before members of groups, as it was typed. */
export function typedName(values: object, name: string): string {
  const origin: Origin | undefined = Reflect.get(values, ORIGIN);
  return origin?.(name, memberOf(values, name)) ?? name;
}

/** The value under a dotted name. */
export function memberOf(values: object, name: string): unknown {
  return name.split('.').reduce((value: unknown, each) => Object(value)[each], values);
}

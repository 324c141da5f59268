/** Answers how the value under a name was typed, such as `--tenant`; undefined for one that goes by its own name. */
export type Origin = (name: string, value: unknown) => string | undefined;

/** The key under which an object carries its `Origin`, so that a message made anywhere names what was typed. */
const ORIGIN = Symbol('how the values were typed');

/** Makes the object remember how its values were typed; with `copied`, each spread copy of it remembers it too. */
export function withOrigin<T extends object>(
  values: T,
  origin: Origin,
  { copied = false }: { readonly copied?: boolean } = {},
): T {
  return Object.defineProperty(values, ORIGIN, { value: origin, enumerable: copied });
}

/** Answers the name of a value as it was typed; dots lead to members of groups. */
export function typedName(values: object, name: string): string {
  const origin: Origin | undefined = Reflect.get(values, ORIGIN);
  return origin?.(name, memberOf(values, name)) ?? name;
}

/** Answers the value under a dotted name. */
export function memberOf(values: object, name: string): unknown {
  return name.split('.').reduce((value: unknown, each) => Object(value)[each], values);
}

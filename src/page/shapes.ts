/** Tells whether a value that came as JSON has a shape. */
export type Shape<T> = (value: unknown) => value is T;

/** A field of a record that may be missing. */
interface MayBeMissing<T> {
  readonly optional: Shape<T>;
}

type ShapeFields = Readonly<Record<string, Shape<unknown> | MayBeMissing<unknown>>>;

type RecordOf<F extends ShapeFields> = Flat<
  {
    readonly [K in keyof F as F[K] extends Shape<unknown> ? K : never]: Shaped<F[K]>;
  } & {
    readonly [K in keyof F as F[K] extends Shape<unknown> ? never : K]?: F[K] extends MayBeMissing<infer T>
      ? T
      : never;
  }
>;

/** One object type of several, as an editor shows it best. */
type Flat<T> = { [K in keyof T]: T[K] };

/** The type of the values that have a shape. */
export type Shaped<S> = S extends Shape<infer T> ? T : never;

export const text: Shape<string> = (value) => typeof value === 'string';

export const number: Shape<number> = (value) => typeof value === 'number';

export const flag: Shape<boolean> = (value) => typeof value === 'boolean';

/** One of the words. */
export function word<const W extends string>(...words: readonly W[]): Shape<W> {
  return (value): value is W => words.some((each) => each === value);
}

export function list<T>(shape: Shape<T>): Shape<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(shape);
}

/** An object with the fields; it may have others. */
export function record<const F extends ShapeFields>(fields: F): Shape<RecordOf<F>> {
  const shapes = Object.entries(fields);
  return (value): value is RecordOf<F> => {
    if (typeof value !== 'object' || value === null) return false;
    const given = value as Readonly<Record<string, unknown>>;
    return shapes.every(([name, shape]) =>
      typeof shape === 'function'
        ? shape(given[name])
        : given[name] === undefined || shape.optional(given[name]),
    );
  };
}

export function optional<T>(shape: Shape<T>): MayBeMissing<T> {
  return { optional: shape };
}

/** A value of any of the shapes. */
export function either<const S extends readonly Shape<unknown>[]>(...shapes: S): Shape<Shaped<S[number]>> {
  return (value): value is Shaped<S[number]> => shapes.some((shape) => shape(value));
}

// A stub in the bundle for bowser, by which the AWS SDK tells its browser: a function runs in none.

/** Answers no browser; named as in `bowser`. */
export function parse(): undefined {
  return undefined;
}

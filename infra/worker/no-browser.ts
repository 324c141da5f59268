// Stands in the bundle for bowser, by which the AWS SDK tells which browser it runs in: a function runs in none.

/** Named as in `bowser`. */
export function parse(): undefined {
  return undefined;
}

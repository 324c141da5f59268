/** Reads what `times` says of a shell's children in its second line, such as `0m1.25s 0m0.10s`; in milliseconds. */
export function childrenTimes(told: string): number {
  const [, ofChildren = ''] = told.trim().split('\n');
  const parts = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)];
  return parts.reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000,
    0,
  );
}

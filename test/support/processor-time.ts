/** Starts a watch of the milliseconds that this process takes of the processor, which other programs do not prolong. */
export function watchProcessor(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}

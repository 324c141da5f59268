import { useEffect, useState } from 'preact/hooks';

const EVERY_MS = 5_000;

const hearers = new Set<(now: number) => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The time, which goes on every few seconds; one timer tells it to all that show it. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    hearers.add(setNow);
    timer ??= setInterval(() => tell(Date.now()), EVERY_MS);
    return () => {
      hearers.delete(setNow);
      if (hearers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now;
}

function tell(now: number): void {
  for (const hear of hearers) hear(now);
}

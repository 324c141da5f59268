import { useNow } from '../data/use-now.ts';
import { momentWords, timeWords } from '../parts/words.ts';

/** Tells a row's time as people say it, as long as the page is open; the exact time in UTC is its title. */
export function Moment({ at }: { readonly at: number }) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={timeWords(at)}>
      {momentWords(at, now)}
    </time>
  );
}

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Costed, LineOf, ResultOf } from '../../protocol.ts';
import { ask } from '../data/ask.ts';
import { QuestionRefused } from '../data/post.ts';
import { beginClick } from '../data/spent.ts';
import { NearRows } from '../parts/near-part.tsx';
import { counted, requestWords, sizeWords, timeWords } from '../parts/words.ts';
import { Moment } from './moment.tsx';

/** Shows what `verify` and `keys status` say. */
export function Health({
  files,
  onOpen,
}: {
  readonly files: number;
  readonly onOpen: (path: string) => void;
}) {
  return (
    <section class="health scroll" aria-label="Health">
      <Verify {...{ files, onOpen }} />
      <KeyState />
    </section>
  );
}

function Verify({ files, onOpen }: { readonly files: number; readonly onOpen: (path: string) => void }) {
  const [step, setStep] = useState<LineOf<'verify'>>();
  const [result, setResult] = useState<ResultOf<'verify'> & Costed>();
  const [failure, setFailure] = useState<string>();
  const [isRunning, setRunning] = useState(false);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const run = (): void => {
    const ending = new AbortController();
    running.current = ending;
    beginClick();
    setRunning(true);
    setStep(undefined);
    setResult(undefined);
    setFailure(undefined);
    ask('verify', {}, { signal: ending.signal, onLine: setStep })
      .then(
        (reading) => setResult(reading),
        (error: unknown) => {
          if (error instanceof QuestionRefused) setFailure(error.message);
        },
      )
      .finally(() => setRunning(false));
  };
  const left = result?.findings.filter(({ isLeft }) => isLeft).length ?? 0;
  return (
    <section class="card" aria-labelledby="verify-title">
      <h2 id="verify-title">Is every object what was sealed?</h2>
      <p>
        Reads and opens all of them, and names what is damaged, belongs to nothing or lies twice. Nothing is
        changed.
      </p>
      <p class="run">
        {isRunning ? (
          <button type="button" onClick={() => running.current?.abort()}>
            Cancel
          </button>
        ) : (
          <button type="button" class="primary" onClick={run}>
            Verify
          </button>
        )}
        <span class="dim">
          {result
            ? `It took ${requestWords(result.requests)}.`
            : `A GET for each object: the ${counted(files, 'file')}, and whatever else is kept of versions and keys.`}
        </span>
      </p>
      {isRunning && <progress aria-label="Verified" value={step?.done ?? 0} max={step?.total ?? 1} />}
      <div role="status">
        {failure && <p class="failure">{failure}</p>}
        {result && (
          <p class="summary" data-well={left === 0}>
            {left === 0 ? 'All well' : `${counted(left, 'finding')} left`}: {counted(result.files, 'file')},{' '}
            {sizeWords(result.bytes)}
          </p>
        )}
      </div>
      {result && result.findings.length > 0 && (
        <div class="findings" role="list">
          <NearRows rows={result.findings} height={54}>
            {({ level, sentence, path }) => (
              <div key={sentence} class="finding" role="listitem" data-level={level}>
                <span class="level">{level}</span>
                <span>{sentence}</span>
                {path && (
                  <button type="button" onClick={() => onOpen(path)}>
                    Look
                  </button>
                )}
              </div>
            )}
          </NearRows>
        </div>
      )}
    </section>
  );
}

type StatusOfKeys = ResultOf<'keys'>['status'];

function KeyState() {
  const [status, setStatus] = useState<StatusOfKeys>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    const ending = new AbortController();
    ask('keys', {}, { signal: ending.signal }).then(
      (reading) => setStatus(reading.status),
      (error: unknown) => {
        if (error instanceof QuestionRefused) setFailure(error.message);
      },
    );
    return () => ending.abort();
  }, []);
  return (
    <section class="card" aria-labelledby="keys-of-tenant">
      <h2 id="keys-of-tenant">Keys</h2>
      {failure && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      {status && <KeyFacts status={status} />}
    </section>
  );
}

const STATES: Readonly<Record<Exclude<StatusOfKeys['state'], 'open'>, string>> = {
  absent: 'Nothing was written for this tenant yet, so it has no keys.',
  shredded: 'The keys of this tenant were destroyed for good.',
  locked: 'None of the configured root keys opens the keyring.',
};

function KeyFacts({ status }: { readonly status: StatusOfKeys }) {
  if (status.state !== 'open') return <p>{STATES[status.state]}</p>;
  const { epoch, nameMode, rootId, wrappedByFirst, writtenAt, keys } = status;
  return (
    <>
      <dl class="key-facts">
        <div>
          <dt>Root key</dt>
          <dd>
            <code>{rootId}</code>
          </dd>
        </div>
        <div>
          <dt>Keyring</dt>
          <dd>
            epoch {epoch}, written {timeWords(writtenAt)}
          </dd>
        </div>
        <div>
          <dt>Names</dt>
          <dd>{nameMode}</dd>
        </div>
      </dl>
      <table>
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">Made</th>
            <th scope="col">Use</th>
          </tr>
        </thead>
        <tbody>
          {keys.map(({ version, created, active }) => (
            <tr key={version}>
              <td>{version}</td>
              <td>
                <Moment at={created} />
              </td>
              <td>{active ? 'seals and opens' : 'opens'}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!wrappedByFirst && (
        <p class="finding-line">
          It is not wrapped by the first root key that is configured:{' '}
          <code>sealed-memory keys rewrap-root</code> does that.
        </p>
      )}
      {keys.length > 1 && (
        <p class="finding-line">
          Older keys are kept: <code>sealed-memory keys migrate</code> brings every object under the active
          one and retires them.
        </p>
      )}
    </>
  );
}

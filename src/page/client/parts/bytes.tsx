import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { HEADER_BYTES, OFFSET } from '../../../format/header.ts';
import { VirtualList } from './virtual-list.tsx';

const ROW_HEIGHT = 20;
/** Pixels that a row of 16 bytes takes; on fewer there are 8 in a row. */
const WIDTH_OF_16 = 540;

interface Field {
  readonly name: string;
  readonly kind: 'start' | 'id' | 'commitment' | 'key' | 'nonce' | 'wrap' | 'sealed';
  readonly from: number;
  readonly to: number;
}

/** The fields of an object, as docs/format.md has them. */
function fieldsOf(length: number): readonly Field[] {
  const fields: readonly Omit<Field, 'to'>[] = [
    { name: 'format', kind: 'start', from: 0 },
    { name: 'version id', kind: 'id', from: OFFSET.id },
    { name: 'commitment', kind: 'commitment', from: OFFSET.commitment },
    { name: 'key id', kind: 'key', from: OFFSET.keyId },
    { name: 'nonce', kind: 'nonce', from: OFFSET.nonce },
    { name: 'sealed key', kind: 'wrap', from: OFFSET.wrap },
    { name: 'sealed content', kind: 'sealed', from: HEADER_BYTES },
  ];
  return fields
    .filter(({ from }) => from < length)
    .map((field, index) => ({ ...field, to: Math.min(length, fields[index + 1]?.from ?? length) }));
}

/** The bytes of an object, as a hexdump; while they are on their way `size` tells how many there will be. */
export function Bytes({ bytes, size }: { readonly bytes: Uint8Array | undefined; readonly size: number }) {
  const place = useRef<HTMLDivElement>(null);
  const length = bytes?.length ?? 0;
  const fields = useMemo(() => fieldsOf(bytes?.length ?? size), [bytes, size]);
  const [rowBytes, setRowBytes] = useState(16);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const adapt = (): void => setRowBytes(element.clientWidth < WIDTH_OF_16 ? 8 : 16);
    adapt();
    const resizes = new ResizeObserver(adapt);
    resizes.observe(element);
    return () => resizes.disconnect();
  }, []);
  const rows = useMemo(
    () => Array.from({ length: Math.ceil(length / rowBytes) }, (_, row) => row * rowBytes),
    [length, rowBytes],
  );
  return (
    <>
      <ul class="fields" aria-label="Fields of the object">
        {fields.map(({ name, kind, from, to }) => (
          <li key={kind}>
            <i class="swatch" data-kind={kind} /> {name}{' '}
            <span class="dim">{(to - from).toLocaleString('en')}</span>
          </li>
        ))}
      </ul>
      <div
        ref={place}
        class="scroll hexdump"
        tabIndex={0}
        data-focus="store"
        role="region"
        aria-label="Bytes of the object"
      >
        <VirtualList place={place} rows={rows} height={ROW_HEIGHT}>
          {(at) => bytes && <HexRow key={at} bytes={bytes} at={at} count={rowBytes} fields={fields} />}
        </VirtualList>
      </div>
    </>
  );
}

function HexRow({
  bytes,
  at,
  count,
  fields,
}: {
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly count: number;
  readonly fields: readonly Field[];
}) {
  const end = Math.min(bytes.length, at + count);
  const parts = fields
    .map(({ kind, from, to }) => ({ kind, part: bytes.subarray(Math.max(at, from), Math.min(end, to)) }))
    .filter(({ part }) => part.length > 0);
  return (
    <div class="hex-row" style={{ height: `${ROW_HEIGHT}px` }}>
      <span class="offset">{at.toString(16).padStart(6, '0')}</span>
      <span class="hex" style={{ width: `${count * 3}ch` }}>
        {parts.map(({ kind, part }) => (
          <span key={kind} data-kind={kind}>
            {Array.from(part, (byte) => `${byte.toString(16).padStart(2, '0')} `)}
          </span>
        ))}
      </span>
      <span class="characters">
        {parts.map(({ kind, part }) => (
          <span key={kind} data-kind={kind}>
            {Array.from(part, characterOf).join('')}
          </span>
        ))}
      </span>
    </div>
  );
}

function characterOf(byte: number): string {
  return byte > 32 && byte < 127 ? String.fromCharCode(byte) : '·';
}

import { MemoryError } from '../errors.ts';

/** Where sealed objects lie: this process, an SQLite file, or a bucket (`prefix` without slashes at its ends). */
export type StoreLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * Parses `memory:`, `sqlite:PATH` or `s3://bucket[/prefix]`; one slash at the end of a prefix is dropped.
 * Throws `misconfigured`, naming `label` and what was expected, never the text.
 */
export function parseStoreLocation(text: string, label: string): StoreLocation {
  if (text === 'memory:') {
    return { kind: 'memory' };
  }
  if (text.startsWith('sqlite:')) {
    return { kind: 'sqlite', path: parseDatabasePath(text.slice('sqlite:'.length), label) };
  }
  if (text.startsWith('s3://')) {
    return parseBucketUrl(text.slice('s3://'.length), label);
  }
  throw new MemoryError('misconfigured', `${label} must be memory:, sqlite:PATH or s3://bucket/prefix.`);
}

function parseDatabasePath(path: string, label: string): string {
  // SQLite would read these as its own in-memory database or as a URI with options.
  if (path === '' || path.startsWith(':') || path.startsWith('file:') || path.includes('\0')) {
    throw new MemoryError(
      'misconfigured',
      `${label} needs the path of a file after "sqlite:"; for a store that lives in this process write memory:.`,
    );
  }
  if (path.startsWith('//')) {
    throw new MemoryError('misconfigured', `${label} takes a path after "sqlite:", without "//".`);
  }
  return path;
}

function parseBucketUrl(text: string, label: string): StoreLocation {
  const slash = text.indexOf('/');
  const bucket = slash === -1 ? text : text.slice(0, slash);
  const prefix = slash === -1 ? '' : text.slice(slash + 1).replace(/\/$/, '');
  if (!BUCKET.test(bucket) || bucket.includes('..')) {
    throw new MemoryError(
      'misconfigured',
      `${label} must name a bucket after "s3://": 3-63 of a-z, 0-9, "." and "-".`,
    );
  }
  if (/[?#\\]/.test(prefix) || prefix.split('/').some((part) => part === '.' || part === '..')) {
    throw new MemoryError(
      'misconfigured',
      `${label} has a prefix with "?", "#", "\\", "." or "..", which no prefix may hold; S3 options have variables of their own.`,
    );
  }
  return { kind: 's3', bucket, prefix };
}

import { expect } from 'vitest';
import type { Bill } from '../contracts/request-bill.ts';

const VERBS: Readonly<Record<string, keyof Bill>> = {
  GetObject: 'get',
  HeadObject: 'head',
  PutObject: 'put',
  ListObjectsV2: 'list',
  ListObjectVersions: 'versions',
  DeleteObject: 'delete',
  DeleteObjects: 'delete',
};

/** Counts what a store of S3 sends, attempt by attempt; `bill` has what came since it was called last. */
export function countOperations(): {
  readonly onRequest: (request: { readonly operation: string }) => void;
  bill(): Bill;
} {
  let operations: string[] = [];
  return {
    onRequest: ({ operation }) => operations.push(operation),
    bill() {
      const bill: Partial<Record<keyof Bill, number>> = {};
      for (const operation of operations) {
        const verb = VERBS[operation];
        if (verb === undefined) expect.unreachable(`an unexpected request: ${operation}`);
        bill[verb] = (bill[verb] ?? 0) + 1;
      }
      operations = [];
      return bill;
    },
  };
}

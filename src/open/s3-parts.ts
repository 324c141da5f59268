// The parts of a store in a bucket, in a module of their own: it is loaded when one is opened.

export { checkConditions } from '../store/conditions.ts';
export { guardDeletes } from '../store/guarded-delete.ts';
export { openS3Connections } from '../store/s3/connection.ts';
export { openS3ObjectStore } from '../store/s3/s3-store.ts';
export { buryOldTombstones } from '../store/tombstones.ts';

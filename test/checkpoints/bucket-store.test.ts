import { describeObjectStore } from '../contracts/object-store.ts';
import { openBucketStore } from './bucket-store.ts';

describeObjectStore('a bucket within the process', () => openBucketStore(Date.now));

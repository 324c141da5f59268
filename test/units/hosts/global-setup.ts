export { installHostPackages as setup } from './install.ts';

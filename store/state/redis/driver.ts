// The parts of the package that are used. It is loaded late, and a build keeps its names only through a module.
export { AbstractConnector, Redis } from 'ioredis';

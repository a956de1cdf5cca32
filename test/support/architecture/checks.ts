// The rules of the architecture, and makers of their checks.
import { codeOf, type File, importsOf } from './source-files.ts';

/** The mistakes in one file, in words; empty when there are none. */
export type Check = (file: File) => string[];

export interface Rule {
  readonly claim: string;
  readonly check: Check;
  /** Files that break the rule: path, then text. */
  readonly bad: readonly (readonly [path: string, text: string])[];
  /** Files that come close, yet keep it. */
  readonly good?: readonly (readonly [path: string, text: string])[];
}

/** Modules that match `wanted` may be imported only by files whose path matches `home`. */
export function livesIn(wanted: RegExp, home: RegExp): Check {
  return (file) =>
    home.test(file.path)
      ? []
      : importsOf(file)
          .filter((name) => wanted.test(name))
          .map((name) => `imports ${name}`);
}

/** Files whose path matches `room` import nothing that matches `forbidden`. */
export function never(room: RegExp, forbidden: RegExp): Check {
  return (file) =>
    room.test(file.path)
      ? importsOf(file)
          .filter((name) => forbidden.test(name))
          .map((name) => `imports ${name}`)
      : [];
}

/** Files whose path matches `room` import only what matches `allowed`. */
export function only(room: RegExp, allowed: RegExp): Check {
  return (file) =>
    room.test(file.path)
      ? importsOf(file)
          .filter((name) => !allowed.test(name))
          .map((name) => `imports ${name}`)
      : [];
}

/** Code (not comments) that matches `pattern` stands only in files whose path matches `home`. */
export function standsIn(pattern: RegExp, home: RegExp): Check {
  return ({ path, text }) => {
    const found = home.test(path) ? undefined : pattern.exec(codeOf(text))?.[0];
    return found === undefined ? [] : [`says ${found.trim()}`];
  };
}

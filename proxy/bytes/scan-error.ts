// Why a JSON text is not acceptable, and where.

export type ScanFault = 'syntax' | 'depth' | 'keys' | 'long' | 'not_object' | 'forbidden_key';

/** Where a body stopped being acceptable; `at` is a byte offset. */
export class ScanError extends Error {
  readonly fault: ScanFault;
  readonly at: number;
  constructor(fault: ScanFault, at: number) {
    super(`${fault} at byte ${at}`);
    this.fault = fault;
    this.at = at;
  }
}

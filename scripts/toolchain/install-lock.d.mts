export interface InstallLock {
  readonly alsoHeldBy: (pid: number) => void
}
export interface InstallLockOptions {
  readonly onWait?: () => void
  readonly silenceMaxMs?: number
}
export function withInstallLock<Result>(
  path: string,
  action: (lock: InstallLock) => Promise<Result>,
  options?: InstallLockOptions,
): Promise<Result>

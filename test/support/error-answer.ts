import type { ErrorBody, ErrorDetail } from '@toolrack/contract'

/** An error answer in short: its status, the code of its first detail, its message and details. */
export type ErrorAnswer = {
  readonly httpStatus: number
  readonly reason: string | undefined
  readonly message: string
  readonly details: readonly ErrorDetail[]
}

/** Reads an answer. Throws unless it is an error in the shape of all errors. */
export async function errorAnswer(answer: Response): Promise<ErrorAnswer> {
  const body = (await answer.json()) as Partial<ErrorBody>
  const { error } = body
  if (Object.keys(error ?? {}).join() !== 'code,status,message,details' || error?.code !== answer.status) {
    throw new Error(`not the shape of an error: ${answer.status} ${JSON.stringify(body)}`)
  }
  return {
    httpStatus: answer.status,
    reason: error.details[0]?.reason,
    message: error.message,
    details: error.details,
  }
}

import { answerQuestions } from './answer-questions.ts'
import { createValidateArguments } from './validate-arguments.ts'

// The program of the process that `ArgumentValidator` starts. A question is a definition and the arguments to check against it.
answerQuestions(createValidateArguments())

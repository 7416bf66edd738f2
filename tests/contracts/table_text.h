// table_text.h: a small contract file, made up, and op calls to ask it about.
#pragma once

#include <string>

#include "trace/text.h"

inline const std::string kTable =
    "dtypecheck contracts 1\n"
    "runtime 0 cpu 1.13.1 measured 2026-11-21 capability=AVX2 "
    "modes=plain,grad,backward,autocast:BFloat16\n"
    "runtime 1 cpu 2.11.0 measured 2026-11-21 capability=AVX2 "
    "modes=plain,grad,backward,autocast:BFloat16,autocast:Half\n"
    "message 0 RuntimeError mat1 and mat2 must have the same dtype, but got {S1} and {S2}\n"
    "message 1 NotImplementedError \"addmm_impl_cpu_\" not implemented for '{S0}'\n"
    "message 2 RuntimeError got {T0} for the {SA} region, and {X9} is no placeholder\n"
    "op aten::add.Tensor self,other\n"
    "plain * f=ff,fh,hf,fb,bf h=hh b=bb d=dd ?=*\n"
    "op aten::add.Tensor self,other()\n"
    "plain * f=ff,fh,fb,fd h=hf,hh,hb,hd b=* d=df,dh,db,dd\n"
    "op aten::addmm self,mat1,mat2\n"
    "plain 0 f=fff b=bbb d=ddd m1=hhh m0=*\n"
    "plain 1 f=fff h=hhh b=bbb d=ddd m0=*\n"
    "autocast:Half 1 h=fff,hff,fhf,ffh,hhf,fhh,hfh,hhh m2=*\n"
    "op aten::cat tensors[]\n"
    "plain * f=f,fh,hf h=h b=b d=d ?=*\n"
    "op aten::mse_loss self,target\n"
    "plain * f=* d=dd\n"
    "backward 1 .=ff,hh,bb,dd m0=*\n"
    "op aten::native_batch_norm input,weight,bias,mean\n"
    "plain 1 fff=ffff hff=hfff ?=*\n"
    "end 9\n";

// The one op call of a trace in text form.
inline dtypecheck::OpCall call_of(const std::string& line) {
  return dtypecheck::parse_trace_text(line + "\n", "test").run.calls.at(0);
}

(* What follows for the operations made of composition and complement, for every rank.

   divide      body::divide_by_layout        algebra/include/inlay/algebra/bodies/divide.h (one layout as the tile)
   product     body::multiply_by_layout      the same file (one layout as the tiler)
   cosize      BasicLayout::cosize           algebra/include/inlay/algebra/layout.h *)
Require Import ZArith List Lia Bool Permutation.
Require Import Value Chain Composition Complement.
Import ListNotations.
Local Open Scope Z_scope.

Definition cosize (L : list mode) : Z := fold_right (fun m n => (fst m - 1) * Z.abs (snd m) + n) 1 L.

(* A flat list of modes as a layout: none is 1:0 (body::unwrapped). *)
Definition unwrapped (L : list mode) : list mode := match L with [] => [(1, 0)] | _ => L end.

Definition divide (A T : list mode) : option (list mode) :=
  match complement T (map fst (unwrapped (coalesced false A))) with
  | Some R => compose A (T ++ unwrapped R)
  | None => None
  end.

(* The block, and where its copies start. *)
Definition product (A T : list mode) : option (list mode) :=
  match complement A [size A * cosize T] with
  | Some G => match compose G T with Some C => Some (A ++ C) | None => None end
  | None => None
  end.

(* ---------------------------------------------------------------- cosize *)
Lemma value_last : forall L, wf L -> Forall (fun m => 0 <= snd m) L -> value L (size L - 1) = cosize L - 1.
Proof.
  induction L as [|[s d] L IH]; intros W F; [reflexivity|]. inversion W as [|? ? Hs W']; subst. inversion F; subst. cbn [fst snd] in *.
  pose proof (wf_size _ W'). pose proof (wf_size _ W). rewrite value_in by (auto; lia). rewrite size_cons.
  replace (s * size L - 1) with ((s - 1) + (size L - 1) * s) by ring.
  rewrite Z_mod_plus_full, Z.mod_small, Z.div_add, Z.div_small by lia. rewrite Z.add_0_l, IH by auto.
  cbn [cosize fold_right fst snd]. rewrite Z.abs_eq by lia. fold (cosize L). ring.
Qed.

(* Identity 6. *)
Theorem cosize_greatest : forall L i, wf L -> Forall (fun m => 0 <= snd m) L -> 0 <= i < size L ->
  0 <= value L i <= value L (size L - 1) /\ value L (size L - 1) = cosize L - 1.
Proof.
  intros L i W F H. split; [|apply value_last; auto]. revert i H.
  induction L as [|[s d] L IH]; intros i H; [cbn; lia|]. inversion W as [|? ? Hs W']; subst. inversion F; subst. cbn [fst snd] in *.
  pose proof (wf_size _ W'). pose proof (wf_size _ W). rewrite !value_in by (auto; lia). rewrite size_cons in *.
  destruct (index_split s (size L) i Hs H) as [Hx Hi]. replace (s * size L - 1) with ((s - 1) + (size L - 1) * s) by ring.
  rewrite (Z_mod_plus_full (s - 1)), (Z.mod_small (s - 1)), (Z.div_add (s - 1)), (Z.div_small (s - 1)), Z.add_0_l by lia.
  pose proof (IH W' H3 (i / s) Hi). pose proof (Z.mul_le_mono_nonneg_r (i mod s) (s - 1) d ltac:(lia) ltac:(lia)).
  pose proof (Z.mul_nonneg_nonneg (i mod s) d ltac:(lia) ltac:(lia)). lia.
Qed.

(* ---------------------------------------------------------------- alignment *)
(* Identity 52. *)
Theorem aligned_iff : forall L V, wf L ->
  ((forall i, 0 <= i < size L -> (V | value L i)) <-> Forall (fun m => 2 <= fst m -> (V | snd m)) L).
Proof.
  intros L V W. split.
  - intros H. apply Forall_forall. intros [s d] Hm Hs. cbn [fst snd] in *.
    assert (I : In d (image L)) by (eapply stride_in_image; eauto). apply in_image in I; auto. destruct I as (i & Hi & <-). auto.
  - intros F i H. revert i H. induction L as [|[s d] L IH]; intros i H; [exists 0; reflexivity|].
    inversion W as [|? ? Hs W']; subst. inversion F; subst. cbn [fst snd] in *. rewrite value_in by auto. rewrite size_cons in H.
    destruct (index_split s (size L) i Hs H) as [Hx Hi]. apply Z.divide_add_r; [|apply IH; auto].
    destruct (Z.eq_dec s 1); [replace (i mod s) with 0 by lia; exists 0; ring|]. apply Z.divide_mul_r, H2. lia.
Qed.

(* ---------------------------------------------------------------- composition *)
(* Identity 13. *)
Theorem compose_associative : forall A B C AB BC L R i, wf A -> wf B -> wf C ->
  compose A B = Some AB -> compose B C = Some BC -> compose AB C = Some L -> compose A BC = Some R ->
  0 <= i < size C -> 0 <= value C i < size B -> value L i = value R i.
Proof.
  intros A B C AB BC L R i WA WB WC E1 E2 E3 E4 Hi HC.
  pose proof (compose_wf _ _ _ WA WB E1) as WAB. pose proof (compose_wf _ _ _ WB WC E2) as WBC.
  destruct (compose_correct _ _ _ WA WB E1) as [S1 V1]. destruct (compose_correct _ _ _ WB WC E2) as [S2 V2].
  destruct (compose_correct _ _ _ WAB WC E3) as [S3 V3]. destruct (compose_correct _ _ _ WA WBC E4) as [S4 V4].
  rewrite V3, V4, V1, V2; auto. rewrite S2. auto.
Qed.

(* Identities 15 and 16: n:1 is the identity on either side. *)
Theorem compose_identity_left : forall n B R i, 1 <= n -> wf B -> compose [(n, 1)] B = Some R -> 0 <= i < size B ->
  value R i = value B i.
Proof.
  intros n B R i Hn W E Hi. assert (WI : wf [(n, 1)]) by (constructor; [auto|constructor]).
  destruct (compose_correct _ _ _ WI W E) as [_ V]. rewrite V by auto. cbn. ring.
Qed.

Theorem compose_identity_right : forall A n R i, 1 <= n -> wf A -> compose A [(n, 1)] = Some R -> 0 <= i < n ->
  value R i = value A i.
Proof.
  intros A n R i Hn W E Hi. destruct (compose_rank1 _ _ _ _ W Hn E) as [_ V]. rewrite V by auto. f_equal. cbn. ring.
Qed.

(* Identities 17 and 18: either side may be coalesced, where both are accepted and B stays inside A. *)
Theorem compose_coalesced_left : forall A B L R i, wf A -> wf B -> compose (coalesced false A) B = Some L -> compose A B = Some R ->
  0 <= i < size B -> 0 <= value B i < size A -> value L i = value R i.
Proof.
  intros A B L R i WA WB E1 E2 Hi HB. destruct (compose_correct _ _ _ (coalesced_wf false _ WA) WB E1) as [_ V1].
  destruct (compose_correct _ _ _ WA WB E2) as [_ V2]. rewrite V1, V2, coalesced_value; auto.
Qed.

Theorem compose_coalesced_right : forall A B L R i, wf A -> wf B -> compose A (coalesced false B) = Some L -> compose A B = Some R ->
  0 <= i < size B -> value L i = value R i.
Proof.
  intros A B L R i WA WB E1 E2 Hi. destruct (compose_correct _ _ _ WA (coalesced_wf false _ WB) E1) as [_ V1].
  destruct (compose_correct _ _ _ WA WB E2) as [_ V2]. rewrite V1, V2, coalesced_value; auto. rewrite coalesced_size; auto.
Qed.

(* Identity 19. *)
Theorem compose_zero : forall A s, compose A [(s, 0)] = Some [(s, 0)].
Proof. reflexivity. Qed.

(* Identity 10: where A adds on the images. *)
Theorem compose_concatenation : forall A B0 B1 R0 R1 i, wf A -> wf B0 -> wf B1 ->
  compose A B0 = Some R0 -> compose A B1 = Some R1 ->
  (forall j k, 0 <= j < size B0 -> 0 <= k < size B1 ->
     value A (value B0 j + value B1 k) = value A (value B0 j) + value A (value B1 k)) ->
  0 <= i < size (B0 ++ B1) -> value (R0 ++ R1) i = value A (value (B0 ++ B1) i).
Proof.
  intros A B0 B1 R0 R1 i WA W0 W1 E0 E1 H Hi. rewrite size_app in Hi.
  destruct (compose_correct _ _ _ WA W0 E0) as [S0 V0]. destruct (compose_correct _ _ _ WA W1 E1) as [S1 V1].
  destruct (index_split (size B0) (size B1) i (wf_size _ W0) Hi) as [Hx Hy].
  pose proof (compose_wf _ _ _ WA W0 E0). pose proof (compose_wf _ _ _ WA W1 E1).
  rewrite (value_app_in R0 R1), (value_app_in B0 B1), S0, V0, V1, H by (auto; rewrite ?S0, ?S1; auto). reflexivity.
Qed.

(* ---------------------------------------------------------------- divide *)
Lemma unwrapped_spec : forall L R, image (L ++ unwrapped R) = image (L ++ R) /\ (wf R -> wf (unwrapped R)) /\
  size (unwrapped R) = size R /\ forall i, value (unwrapped R) i = value R i.
Proof.
  intros L [|m R]; [|auto]. split; [rewrite !image_app; reflexivity|]. split; [repeat constructor; cbn; lia|].
  split; [reflexivity|]. intros i. cbn. lia.
Qed.

Lemma unwrapped_shape : forall A, wf A -> Forall (fun x => 1 <= x) (map fst (unwrapped (coalesced false A))).
Proof.
  intros A W. pose proof (coalesced_wf false _ W) as C. destruct (coalesced false A) as [|m L].
  - cbn. constructor; [lia|constructor].
  - cbn [unwrapped]. induction C; constructor; auto.
Qed.

(* Identity 32: A of the tile and its complement, at every index. *)
Theorem divide_value : forall A T D, wf A -> wf T -> divide A T = Some D ->
  exists R, complement T (map fst (unwrapped (coalesced false A))) = Some R /\ size D = size T * size R /\
  forall i, 0 <= i < size D -> value D i = value A (value (T ++ unwrapped R) i).
Proof.
  intros A T D WA WT E. unfold divide in E. destruct (complement T _) as [R|] eqn:Q; [|discriminate]. exists R.
  assert (WR : wf R).
  { unfold complement in Q. destruct (holes _ 1 (sorted T)) as [H|] eqn:P; [|discriminate]. injection Q as <-.
    apply coalesced_wf. apply (holes_joined _ (sorted T) 1 H (sorted_wf _ WT) (unwrapped_shape _ WA) ltac:(lia) P). }
  destruct (unwrapped_spec T R) as (_ & U1 & U2 & _). assert (W : wf (T ++ unwrapped R)) by (apply Forall_app; split; auto; apply U1; auto).
  destruct (compose_correct _ _ _ WA W E) as [S V]. rewrite size_app, U2 in S. split; [auto|]. split; [auto|].
  intros i Hi. apply V. rewrite size_app, U2. lia.
Qed.

(* Identities 33 and 34: a tile whose strides form a chain, and which with its complement has as many elements as A, only
   reorders A. *)
Theorem divide_permutation : forall A T D R, wf A -> wf T -> no_broadcast T -> divisible 1 (sorted T) ->
  divide A T = Some D -> complement T (map fst (unwrapped (coalesced false A))) = Some R -> size T * size R = size A ->
  size D = size A /\ Permutation (image D) (image A).
Proof.
  intros A T D R WA WT N DV E Q S. destruct (divide_value _ _ _ WA WT E) as (R' & Q' & SD & V). rewrite Q in Q'. injection Q' as <-.
  pose proof (complement_bijective _ _ _ WT N (unwrapped_shape _ WA) DV Q) as B.
  destruct (complement_spec _ _ _ WT N (unwrapped_shape _ WA) Q) as (WR & _).
  destruct (unwrapped_spec T R) as (U0 & U1 & U2 & _). assert (W : wf (T ++ unwrapped R)) by (apply Forall_app; split; auto; apply U1; auto).
  assert (WD : wf D) by (unfold divide in E; rewrite Q in E; apply (compose_wf _ _ _ WA W E)).
  apply bijective_image in B; [|apply Forall_app; auto]. rewrite <- U0, size_app, S in B.
  split; [lia|]. rewrite (image_values D), (image_values A) by auto.
  rewrite (map_ext_in (value D) (fun i => value A (value (T ++ unwrapped R) i))) by (intros i Hi; apply in_range in Hi; auto).
  rewrite <- (map_map (value (T ++ unwrapped R)) (value A)). apply Permutation_map.
  rewrite SD, <- U2, <- size_app, <- image_values by auto. exact B.
Qed.

(* ---------------------------------------------------------------- product *)
(* Identity 37: the first mode is A, the second A* o T. *)
Theorem product_value : forall A T P, wf A -> no_broadcast A -> wf T -> product A T = Some P ->
  exists G, complement A [size A * cosize T] = Some G /\ size P = size A * size T /\
  forall i, 0 <= i < size P -> value P i = value A (i mod size A) + value G (value T (i / size A)).
Proof.
  intros A T P WA N WT E. unfold product in E. destruct (complement A _) as [G|] eqn:Q; [|discriminate]. exists G.
  assert (F : Forall (fun x => 1 <= x) [size A * cosize T]).
  { constructor; [|constructor]. pose proof (wf_size _ WA). assert (1 <= cosize T); [|nia].
    clear - WT. induction WT as [|[s d] T H _ IH]; [cbn; lia|]. cbn [cosize fold_right fst snd] in *. fold (cosize T) in *. nia. }
  destruct (complement_spec _ _ _ WA N F Q) as (WG & _). destruct (compose G T) as [C|] eqn:K; [|discriminate]. injection E as <-.
  destruct (compose_correct _ _ _ WG WT K) as [S V]. split; [auto|]. rewrite size_app, S. split; [auto|].
  intros i Hi. destruct (index_split (size A) (size T) i (wf_size _ WA) Hi) as [Hx Hy].
  destruct C as [|m C].
  - cbn in S. rewrite app_nil_r. rewrite <- S in Hi. rewrite Z.mod_small by lia. rewrite Z.div_small by lia. rewrite <- V by lia. cbn. lia.
  - rewrite value_app by (auto; discriminate). rewrite V by auto. reflexivity.
Qed.

(* Identity 38: copies of an injective block do not meet. *)
Theorem product_injective : forall A T P, wf A -> no_broadcast A -> wf T -> Forall (fun m => 0 <= snd m) T ->
  divisible 1 (sorted A) -> (span 1 (sorted A) | size A * cosize T) -> injective T -> product A T = Some P -> injective P.
Proof.
  intros A T P WA N WT F D K I E. destruct (product_value _ _ _ WA N WT E) as (G & Q & S & V).
  pose proof (wf_size _ WA) as PA. pose proof (wf_size _ WT) as PT.
  assert (1 <= cosize T) by (destruct (cosize_greatest T 0 WT F ltac:(lia)); lia).
  destruct (complement_size A (size A * cosize T) G) as [SG _]; auto; [nia|].
  assert (G1 : size G = cosize T) by nia.
  assert (FM : Forall (fun x => 1 <= x) [size A * cosize T]) by (constructor; [nia|constructor]).
  pose proof (complement_injective _ _ _ WA N FM Q) as J. destruct (complement_spec _ _ _ WA N FM Q) as (WG & _).
  assert (X : forall i, 0 <= i < size P -> exists x y, 0 <= x < size A /\ 0 <= y < size T /\ i = x + size A * y /\
     0 <= x + size A * value T y < size (A ++ G) /\ value P i = value (A ++ G) (x + size A * value T y)).
  { intros i Hi. rewrite S in Hi. destruct (index_split (size A) (size T) i PA Hi) as [Hx Hy]. exists (i mod size A), (i / size A).
    destruct (cosize_greatest T (i / size A) WT F Hy). rewrite size_app.
    split; [auto|]. split; [auto|]. split; [rewrite (Z.div_mod i (size A)) at 1 by lia; ring|]. split; [nia|].
    rewrite value_app_in by (auto; nia). rewrite V by lia.
    rewrite (Z.mul_comm (size A)), Z_mod_plus_full, Z.mod_mod, Z.div_add, (Z.div_small (i mod _)) by lia. reflexivity. }
  intros i j Hi Hj Eq. destruct (X i Hi) as (x & y & Hx & Hy & -> & B1 & V1). destruct (X j Hj) as (x' & y' & Hx' & Hy' & -> & B2 & V2).
  rewrite V1, V2 in Eq. apply J in Eq; auto.
  destruct (Z.div_mod_unique (size A) (value T y) (value T y') x x') as [H1 H2]; [lia|lia|lia|].
  apply I in H1; auto. congruence.
Qed.
